"""The scoring rules as pure functions: values in, scores out, no files, no logging.

Each function here is the definition of its rule. A compiled twin, where there is one, is held equal
to it by tests.
"""
