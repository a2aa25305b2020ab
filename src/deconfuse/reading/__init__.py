"""Turn what users have into counts.

- ``sequences`` counts `y_true` and `y_pred`, ``frames`` columns of a data frame, and
  ``prediction_table`` columns of files (CSV, Parquet, JSON lines, Arrow).
- ``label_columns`` validates labels, predictions and weights and turns them into integer codes,
  ``tally`` counts codes, and ``pairs`` decides what is a class, an outcome or an error.
- ``count_tables`` reads a table of counts, such as a DataFrame; ``matrix_files`` and
  ``csv_matrix`` save and load matrices.
"""
