/* initial.h: the initial distribution that a user asks for. */
#ifndef NADIR_IO_INITIAL_H
#define NADIR_IO_INITIAL_H

#include "model/model.h"

/* initial: "uniform", the number or the name of a state, or a file: .npy with S numbers, or CSV
 * `idstate,probability` where states left out have probability 0. NADIR_ERROR_ARGUMENT when it is none of
 * these. What sums to one within 1e-5 is normalised. mu: [states], written on success alone. */
nadir_status nadir_initial_read(nadir_context *context, const nadir_model *model, const char *initial,
                                double *mu);

#endif
