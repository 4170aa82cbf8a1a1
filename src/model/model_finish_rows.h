/* model_finish_rows.h: putting the rows of a kernel in order while a model is finished. */
#ifndef NADIR_MODEL_MODEL_FINISH_ROWS_H
#define NADIR_MODEL_MODEL_FINISH_ROWS_H

#include "model/model.h"

/* What happened to sums while rows, or mu, were normalised. */
typedef struct nadir_sum_report {
    int64_t repaired; /* how many were off by more than NADIR_SUM_UNSAID */
    int64_t worst;    /* which was off the most */
    double worst_sum;
} nadir_sum_report;

/* Normalises values whose sum is off; `which` is how the report calls them. *sum is what they summed to;
 * false when that is farther from one than NADIR_SUM_TOLERANCE. */
bool nadir_normalise(int64_t count, double *values, int64_t which, nadir_sum_report *report, double *sum);

/* "FILE:LINE: state 3, action 1: " followed by the sentence, as a NADIR_ERROR_MODEL. */
nadir_status nadir_row_fail(nadir_context *context, const nadir_model *model, const nadir_source *source,
                            int64_t row, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Sorts, merges, checks and normalises every row, fills `rewards` from transition rewards, counts nonzeros.
 */
nadir_status nadir_rows_finish(nadir_context *context, nadir_model *model, const nadir_source *source);

/* *stand: whether the kernel of `data` would come out of nadir_model_finish as it is, bits and storage; then
 * *nonzeros is how many transitions it has. Tells nothing of what is wrong otherwise. */
nadir_status nadir_rows_stand(nadir_context *context, const nadir_model_data *data, bool *stand,
                              int64_t *nonzeros);

#endif
