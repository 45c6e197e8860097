"""Published studies as code: one module per paper, found by listing this folder.

A module that begins with an underscore belongs to the study of the same name; what several studies
share is in ``_common``.
"""
