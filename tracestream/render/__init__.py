"""Reports as people and other programs read them: one file a form."""
