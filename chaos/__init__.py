"""The proof from outside that nothing is lost: real processes are killed while runs go on, and what
became of them is compared with a ledger that is kept elsewhere."""
