/*
 * variates.h: gamma, binomial and Dirichlet variates from a random stream.
 *
 * The same stream gives the same bits on one machine whatever the number of threads; powers and logarithms
 * come from the C library, so that the last bit may differ between platforms.
 */
#ifndef NADIR_FIT_VARIATES_H
#define NADIR_FIT_VARIATES_H

#include "core/random.h"

/* Gamma with this shape > 0 and scale 1. Shapes far below 1 may give 0, where the variate is below the
 * smallest double. */
double nadir_gamma_variate(nadir_random *random, double shape);

/* How many of `count` trials succeed, each with probability p. */
int64_t nadir_binomial_variate(nadir_random *random, int64_t count, double p);

/* The sizes, in size-biased order, of `count` pieces of a stick of length 1 that are symmetric Dirichlet with
 * concentration `each`: pieces[capacity] gets the first ones, until they are all there, the rest of the stick
 * is shorter than `least`, or there is no more room. Returns how many; *rest is what is left for the others.
 */
int64_t nadir_stick_pieces(nadir_random *random, int64_t count, double each, double least, int64_t capacity,
                           double *pieces, double *rest);

#endif
