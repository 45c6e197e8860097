"""Published studies as code: a package per study, found by listing this folder.

Code that several studies share is in the package ``common``, which is not a study.
"""
