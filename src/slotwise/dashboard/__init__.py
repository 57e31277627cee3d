"""The page that shows a run: its data, its server, its files.

`document` makes the page's data from the file of runs; docs/reference/page.md has its names.
"""
