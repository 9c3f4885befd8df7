"""What every database must do, whichever it is: classes of tests, to each of which a subclass gives the
fixture `database`."""
