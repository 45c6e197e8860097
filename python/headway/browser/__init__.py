"""Pages in a real browser: the driver, the sites that it visits, and what it measured."""
