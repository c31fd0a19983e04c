"""Several processes of one run: started, named, told apart, and missed when one of them has gone."""
