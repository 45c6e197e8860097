"""Loads pages in a real browser: the driver, the sites that it visits, and its measurements."""
