"""`spanwise show ...`: look at a recipe, a store, a run, masks or a model without changing it."""
