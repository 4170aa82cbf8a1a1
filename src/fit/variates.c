/*
 * variates.c: gamma, binomial and Dirichlet variates; see variates.h.
 *
 * Gamma: Marsaglia and Tsang (2000): with d = shape - 1/3, c = 1/sqrt(9 d), x normal and v = (1 + c x)^3, the
 * number d v is accepted with probability exp(x^2/2 + d - d v + d log v). Below shape 1 it is
 * Gamma(shape + 1) U^(1/shape).
 * Binomial: the i-th smallest of n uniform numbers is Beta(i, n + 1 - i); whether it is below p tells on
 * which side half of the trials are (Devroye, 1986, X.4), and log2(n) such questions leave few trials to
 * make. Pieces: the piece that holds a uniform point of a symmetric Dirichlet stick of k pieces takes the
 * share Beta(each + 1, (k - 1) each), and the others are again such a stick.
 */
#include "fit/radii.h"

#include <math.h>

/* Fewer trials are made one by one. */
enum { FEW_TRIALS = 24 };

double nadir_gamma_variate(nadir_random *random, double shape)
{
    const double more = shape < 1 ? shape + 1 : shape;
    const double d = more - 1.0 / 3;
    const double c = 1 / sqrt(9 * d);
    double variate = 0;
    for (bool accepted = false; !accepted;) {
        const double x = nadir_random_normal(random);
        const double root = 1 + c * x;
        if (root > 0) {
            const double v = root * root * root;
            const double u = 1 - nadir_random_uniform(random);
            const double square = x * x;
            accepted = u < 1 - 0.0331 * square * square || /* most of the time, and without logarithms */
                       log(u) < 0.5 * square + d - d * v + d * log(v);
            variate = d * v;
        }
    }
    return shape < 1 ? variate * exp(-nadir_random_exponential(random) / shape) : variate;
}

static double beta_variate(nadir_random *random, double a, double b)
{
    const double x = nadir_gamma_variate(random, a);
    const double y = nadir_gamma_variate(random, b);
    return x > 0 || y > 0 ? x / (x + y) : 0;
}

int64_t nadir_binomial_variate(nadir_random *random, int64_t count, double p)
{
    int64_t successes = 0;
    while (count > FEW_TRIALS && p > 0 && p < 1) {
        const int64_t middle = count / 2 + 1;
        const double x = beta_variate(random, (double)middle, (double)(count + 1 - middle));
        if (x <= p) { /* `middle` of the uniform numbers are at most x */
            successes += middle;
            count -= middle;
            p = x < 1 ? fmin((p - x) / (1 - x), 1) : 0;
        } else {
            count = middle - 1;
            p = p / x;
        }
    }
    if (p >= 1) {
        return successes + count;
    }
    for (int64_t i = 0; p > 0 && i < count; i++) {
        successes += nadir_random_uniform(random) < p ? 1 : 0;
    }
    return successes;
}

int64_t nadir_stick_pieces(nadir_random *random, int64_t count, double each, double least, int64_t capacity,
                           double *pieces, double *rest)
{
    int64_t made = 0;
    *rest = 1;
    while (made < count && made < capacity && *rest >= least) {
        const double share =
            made + 1 < count ? beta_variate(random, each + 1, (double)(count - made - 1) * each) : 1;
        pieces[made++] = *rest * share;
        *rest *= 1 - share;
    }
    return made;
}
