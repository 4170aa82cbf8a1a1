/*
 * kappa_bisection.c: the least kappa that a Cholesky factorisation proves; see second_order_search.h.
 *
 * kappa is doubled from 1/2 until the inequality of kappa_cholesky.c holds for some theta, and then bisected.
 */
#include "search/second_order_search.h"

#include <math.h>

enum { TRIALS = 4, TRIALS_UNVISITED = 3, HALVINGS = 7, HALVINGS_FEW = 3, DOUBLINGS = 40 };

/* Shares of a norm that theta is tried at. */
static const double shares[TRIALS] = {0.35, 0.5, 0.25, 0.15};
static const double shares_unvisited[TRIALS_UNVISITED] = {0.5, 0.25, 0.8};

typedef struct search {
    const nadir_context *context;
    nadir_kappa_matrix *matrix;
    int theta, theta_unvisited; /* the shares that did last */
} search;

/* For any of the shares. */
static bool holds(search *self, double k)
{
    nadir_kappa_matrix *matrix = self->matrix;
    const bool spread = matrix->spread_norm > 0;
    const bool unvisited = matrix->unvisited_norm > 0;
    if (matrix->shared && matrix->unvisited == NULL &&
        nadir_kappa_cholesky_holds(self->context, matrix, k, NADIR_KAPPA_BY_NORM, 0)) {
        return true;
    }
    for (int a = 0; a < (spread ? TRIALS : 1); a++) {
        for (int b = 0; b < (unvisited ? TRIALS_UNVISITED : 1); b++) {
            const int first = (a + self->theta) % TRIALS;
            const int second = (b + self->theta_unvisited) % TRIALS_UNVISITED;
            const double theta = spread ? fmin(matrix->spread_norm * shares[first], 0.9 * k) : 0;
            const double other = unvisited ? matrix->unvisited_norm * shares_unvisited[second] : 0;
            if (nadir_kappa_cholesky_holds(self->context, matrix, k, theta, other)) {
                self->theta = first;
                self->theta_unvisited = second;
                return true;
            }
        }
    }
    return false;
}

/* Where it is at most 1/2, a rough number does unless a sharp one is asked for. */
static void bisect(search *self, bool sharp)
{
    double high = 0.5;
    for (int step = 0; !holds(self, high); step++) {
        if (step == DOUBLINGS) {
            return;
        }
        high *= 2;
    }
    double low = high > 0.5 ? high / 2 : 0;
    const int halvings = sharp || high > 0.5 ? HALVINGS : HALVINGS_FEW;
    for (int step = 0; step < halvings; step++) {
        const double k = (low + high) / 2;
        if (holds(self, k)) {
            high = k;
        } else {
            low = k;
        }
    }
}

void nadir_kappa_bisect(const nadir_context *context, nadir_kappa_matrix *matrix, bool sharp)
{
    search self = {.context = context, .matrix = matrix};
    bisect(&self, sharp);
}
