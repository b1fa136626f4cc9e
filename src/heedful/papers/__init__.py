"""What papers report, and how to do it again: one folder per paper.

    runs.toml       experiments: a grid for `heedful sweep`, or the name of a measurement
    expected.toml   published numbers with tolerance and source, and claims
    README.md       what is the paper's, what had to be chosen, what cannot be compared

A paper is added by adding a folder.
"""
