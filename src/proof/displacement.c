/* displacement.c: the displacement of a candidate from the nominal kernel; see displacement.h. */
#include "proof/kkt.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/threads.h"

#include <math.h>

void nadir_displacement_clear(nadir_context *context, nadir_displacement *displacement)
{
    nadir_release(context, displacement->n);
    nadir_release(context, displacement->w);
    nadir_release(context, displacement->direction);
    *displacement = (nadir_displacement){0};
}

/* Delta / alpha of an entry. */
static double change_of(const nadir_kkt *kkt, int64_t entry, double alpha)
{
    return kkt->change != NULL ? kkt->change[entry]
                               : (kkt->point->X[entry] - kkt->perturbable->phat[entry]) / alpha;
}

/* direction (unless NULL): (Delta / alpha - c) inverse of one row, which sums to zero; returns its part of
 * n_s^2. */
static double displace_row(const nadir_kkt *kkt, const double *inverse, int64_t i, double *direction)
{
    const int64_t start = kkt->perturbable->starts[i];
    const int64_t end = kkt->perturbable->starts[i + 1];
    const double alpha = nadir_perturbable_rows_alpha(kkt->perturbable, i);
    double mass = 0;
    double mean = 0;
    double square = 0;
    for (int64_t e = start; e < end; e++) {
        const double weight = inverse != NULL ? inverse[e] : 1;
        mass += weight;
        mean += weight * change_of(kkt, e, alpha);
    }
    mean /= mass;
    for (int64_t e = start; e < end; e++) {
        const double far = change_of(kkt, e, alpha) - mean;
        const double weighted = far * (inverse != NULL ? inverse[e] : 1);
        square += far * weighted;
        if (direction != NULL) {
            direction[e] = weighted;
        }
    }
    return square;
}

nadir_status nadir_displacement_make(nadir_context *context, const nadir_kkt *kkt, const double *inverse,
                                     nadir_displacement *displacement)
{
    nadir_status status = NADIR_OK;
    const nadir_perturbable_rows *perturbable = kkt->perturbable;
    if (displacement->n == NULL) {
        NADIR_NEW(context, displacement->n, perturbable->states);
        NADIR_NEW(context, displacement->w, perturbable->states);
        if (!displacement->norms_alone) {
            NADIR_NEW(context, displacement->direction, perturbable->entries);
        }
    }
    const int threads = nadir_threads_for(context, 2 * perturbable->entries);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t s = 0; s < perturbable->states; s++) {
        double square = 0;
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
            square += displace_row(kkt, inverse, i, displacement->direction);
        }
        const double n = sqrt(square);
        if (displacement->direction != NULL) {
            for (int64_t e = perturbable->starts[perturbable->first[s]];
                 e < perturbable->starts[perturbable->first[s + 1]]; e++) {
                displacement->direction[e] = n > 0 ? displacement->direction[e] / n : 0;
            }
        }
        /* two sums over the entries of the rows of a state */
        displacement->n[s] = nadir_round_up(n, (double)(2 * perturbable->total + 64));
        displacement->w[s] = kkt->unvisited[s] ? kkt->w_unvisited[s]
                             : n > 0           ? nadir_round_up(displacement->n[s] / kkt->point->d[s], 4)
                                               : 0;
    }
cleanup:
    return status;
}

double nadir_displacement_radius(const nadir_context *context, const nadir_kkt *kkt,
                                 const nadir_displacement *displacement, const nadir_occupancy_bounds *bounds)
{
    double sum = 0;
    for (int64_t s = 0; s < kkt->perturbable->states; s++) {
        const double d = kkt->point->d[s];
        double most = bounds->high[s] * displacement->w[s]; /* unvisited */
        if (!kkt->unvisited[s]) {
            /* rho_s - 1 rounded up, 1 - rho_s rounded up */
            const double more = d > 0 ? nadir_round_up(bounds->high[s] / d, 4) - 1 : 0;
            const double less = d > 0 ? 1 - nadir_round_down(bounds->low[s] / d, 4) : 0;
            most = displacement->n[s] * fmax(fmax(more, less), 0);
        }
        sum += most * most;
    }
    /* a norm over all states */
    return nadir_round_up(2 * sqrt(nadir_allreduce_sum(context, sum)),
                          (double)(kkt->perturbable->total + 32));
}
