"""The guarded road to one public URL."""
