/*
 * variates.h: normal, gamma, binomial and Dirichlet variates, made for speed.
 *
 * The same stream gives the same bits on one machine whatever the number of threads. Powers and logarithms are
 * those of the C library: the last bit may differ between platforms.
 *
 * Normal: the ziggurat of Marsaglia and Tsang (2000) with bits of their own for layer and place (Doornik, 2005): 128
 * layers of equal area, layer i of half width x[i]. A point of it nearer than x[i + 1] is below the density for sure.
 * Gamma: Marsaglia and Tsang (2000): with d = shape - 1/3, c = 1/sqrt(9 d), x normal and v = (1 + c x)^3, the
 * number d v is accepted with probability exp(x^2/2 + d - d v + d log v). Below shape 1 it is
 * Gamma(shape + 1) U^(1/shape).
 */
#ifndef NADIR_FIT_VARIATES_H
#define NADIR_FIT_VARIATES_H

#include "core/random.h"

#include <math.h>

enum { NADIR_NORMAL_LAYERS = 128 };
extern const double nadir_normal_layers[NADIR_NORMAL_LAYERS + 1];

/* The same where the point is not below the density for sure: it is `place` of the half width of a layer. */
double nadir_normal_beyond(nadir_random *random, int layer, double place);

static inline double nadir_normal_variate(nadir_random *random)
{
    const uint64_t bits = nadir_random_next(random);
    const int layer = (int)(bits % NADIR_NORMAL_LAYERS);
    const double place = (double)((int64_t)bits >> 10) * 0x1p-53; /* from -1 to 1 */
    const double x = place * nadir_normal_layers[layer];
    return fabs(x) < nadir_normal_layers[layer + 1] ? x : nadir_normal_beyond(random, layer, place);
}

/* Gamma with one shape > 0 and scale 1. */
typedef struct nadir_gamma {
    double d, c;
    double power; /* 1 / shape below shape 1; 0 above */
} nadir_gamma;

static inline nadir_gamma nadir_gamma_of(double shape)
{
    const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3;
    return (nadir_gamma){.d = d, .c = 1 / sqrt(9 * d), .power = shape < 1 ? 1 / shape : 0};
}

/* Shapes far below 1 may give 0, where the variate is below the smallest double. */
static inline double nadir_gamma_take(const nadir_gamma *self, nadir_random *random)
{
    for (;;) {
        const double x = nadir_normal_variate(random);
        const double root = 1 + self->c * x;
        const double v = root * root * root;
        const double u = 1 - nadir_random_uniform(random);
        const double square = x * x;
        if (root > 0 && (u < 1 - 0.0331 * square * square || /* most of the time, and without logarithms */
                         log(u) < 0.5 * square + self->d - self->d * v + self->d * log(v))) {
            return self->power > 0 ? self->d * v * exp(log(1 - nadir_random_uniform(random)) * self->power)
                                   : self->d * v;
        }
    }
}

double nadir_gamma_variate(nadir_random *random, double shape);

/* How many of `count` trials succeed, each with probability p. */
int64_t nadir_binomial_variate(nadir_random *random, int64_t count, double p);

/* Breaks a stick of length 1 into `count` pieces that are symmetric Dirichlet with concentration `each`, in
 * size-biased order, until the rest of the stick is shorter than `least`. pieces: [count]. Returns how many
 * were made; *rest is what is left for the others. */
int64_t nadir_stick_pieces(nadir_random *random, int64_t count, double each, double least, double *pieces,
                           double *rest);

#endif
