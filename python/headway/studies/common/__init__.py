"""What several studies share: claims with verdicts, the thesis' paths and flows, the page."""
