"""What the parent sees of a measured process and of its host, from outside."""

import sys

LINUX = sys.platform.startswith("linux")
"""Whether /proc can be read; elsewhere psutil gives what it can and the rest is None."""
