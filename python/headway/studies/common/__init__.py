"""Code that several studies share: the thesis' paths, flows and workloads, tables, and edits."""
