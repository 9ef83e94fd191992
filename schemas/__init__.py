"""The words: what things are. Pure data, imported by every floor, importing nothing of ours."""
