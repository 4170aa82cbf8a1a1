/*
 * box.h: the box of a model, l <= P <= u for each transition, and the nominal row in it.
 *
 * Models with a box are stored as CSR rows, with `lower` and `upper` beside the probabilities. Rows list exactly
 * the successors that the box allows, u > 0: one whose nominal probability is 0 has NADIR_LEAST_PROBABILITY, which
 * is lost in every sum. So the domain support of such a model holds its box.
 */
#ifndef NADIR_MODEL_BOX_H
#define NADIR_MODEL_BOX_H

#include "model/model.h"

/* Of a successor that is allowed and has no nominal probability. */
#define NADIR_LEAST_PROBABILITY 1e-300

/* Nominal numbers may lie outside their interval by this much, which then holds them. */
#define NADIR_BOX_TOLERANCE 1e-9

/* p <- the point of the box nearest to its middle that sums to one; of sums of l above 1 (of u below 1) l (u). */
void nadir_box_point(int64_t count, const double *lower, const double *upper, double *p);

/* Checks a row of successors with u > 0, and makes p positive; all NaN: it is made by nadir_box_point. Returns NULL,
 * or why it is no row of a box, in text. columns: [count], for messages. */
const char *nadir_box_settle(int64_t count, const int32_t *columns, const double *lower, const double *upper,
                             double *p, size_t size, char text[]);

/* After a row was normalised: intervals that p has left by rounding hold it. */
void nadir_box_enclose(int64_t count, const double *p, double *lower, double *upper);

/* Whether the nominal kernel is what nadir_box_point would make of the box. */
nadir_status nadir_box_is_centred(nadir_context *context, const nadir_model *model, bool *centred);

#endif
