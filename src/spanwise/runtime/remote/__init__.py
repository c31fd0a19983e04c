"""Files that lie elsewhere: paths.py opens them, mirror.py keeps a verified copy of a folder here."""
