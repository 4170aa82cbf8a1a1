/*
 * kernel_descent.c: lower and lower kernels; see kernel_descent.h.
 *
 * Steps need not be the best there are: what lies in the set and has a lower return is enough. The first are
 * along the gradient, P <- pull(P - eta G), eta growing while the return falls; the others move mass between
 * two successors of one row, more or less of it.
 */
#include "support/support.h"

#include "support/kernel_descent.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRADIENTS = 40, MOVES = 150 };

int64_t test_kernel_descent_count;

/* Takes the trial if it is lower; returns whether it is. */
static bool take(const test_oracle *oracle, double *kernel, double *trial, double *lowest)
{
    test_oracle_pull(oracle, trial);
    const double found = test_oracle_return(oracle, trial, NULL);
    test_kernel_descent_count++;
    if (isnan(found)) {
        *lowest = NAN;
    }
    if (!(found < *lowest)) {
        return false;
    }
    *lowest = found;
    memcpy(kernel, trial, (size_t)(oracle->rows * oracle->states) * sizeof *kernel);
    return true;
}

static double largest(int64_t count, const double *x)
{
    double found = 0;
    for (int64_t i = 0; i < count; i++) {
        found = fmax(found, fabs(x[i]));
    }
    return found;
}

static void follow_gradient(const test_oracle *oracle, double *kernel, double *trial, double *lowest)
{
    const int64_t count = oracle->rows * oracle->states;
    double *gradient = test_new(count, sizeof *gradient);
    double share = 0.1;
    for (int i = 0; i < GRADIENTS && share > 1e-12 && !isnan(*lowest); i++) {
        (void)test_oracle_gradient(oracle, kernel, gradient);
        const double size = largest(count, gradient);
        for (int64_t j = 0; j < count; j++) {
            const double scale = oracle->scales[j / oracle->states];
            trial[j] = kernel[j] - (size > 0 ? share / size : 0) * scale * scale * gradient[j];
        }
        share *= take(oracle, kernel, trial, lowest) ? 2 : 0.2;
    }
    free(gradient);
}

static void move_mass(const test_oracle *oracle, nadir_random *random, double *kernel, double *trial,
                      double *lowest)
{
    const int64_t n = oracle->states;
    double size = 0.1;
    for (int i = 0; i < MOVES && !isnan(*lowest); i++) {
        double *row = trial + n * (int64_t)nadir_random_below(random, (uint64_t)oracle->rows);
        memcpy(trial, kernel, (size_t)(oracle->rows * n) * sizeof *trial);
        const double amount = size * nadir_random_uniform(random);
        row[nadir_random_below(random, (uint64_t)n)] -= amount;
        row[nadir_random_below(random, (uint64_t)n)] += amount;
        size = take(oracle, kernel, trial, lowest) ? fmin(1, 1.5 * size) : fmax(1e-9, 0.9 * size);
    }
}

double test_kernel_descent(const test_oracle *oracle, nadir_random *random, double *kernel)
{
    double *trial = test_new(oracle->rows * oracle->states, sizeof *trial);
    double lowest = test_oracle_return(oracle, kernel, NULL);
    test_kernel_descent_count++;
    follow_gradient(oracle, kernel, trial, &lowest);
    move_mass(oracle, random, kernel, trial, &lowest);
    free(trial);
    return lowest;
}
