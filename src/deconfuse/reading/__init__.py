"""Reading: sequences, frames, files and tables of counts become confusion matrices."""
