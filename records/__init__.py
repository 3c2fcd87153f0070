"""The contract between the lab that measures and the analysis that reads: schemas, and the trial folders."""
