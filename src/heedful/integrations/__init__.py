"""The ways from an audit to tools that people have: model cards, trackers, the Trainer."""
