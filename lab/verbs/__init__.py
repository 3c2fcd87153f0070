"""What a user may type: options and help of every verb.  A verb names the module of `lab` that does it."""
