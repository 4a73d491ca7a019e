"""Turns raw datasets into parquet with one schema. One file per dataset."""
