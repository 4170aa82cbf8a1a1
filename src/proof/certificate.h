/*
 * certificate.h: what the proofs of one kernel of the non-rectangular ball, simplex or support, have shown.
 */
#ifndef NADIR_PROOF_CERTIFICATE_H
#define NADIR_PROOF_CERTIFICATE_H

#include "proof/certificate.h"

/* How sure a bound is. Numerical: a number in it is a converged estimate, not a bound. */
typedef enum nadir_proof { NADIR_PROOF_NONE, NADIR_PROOF_NUMERICAL, NADIR_PROOF_RIGOROUS } nadir_proof;

typedef struct nadir_certificate {
    double lower;      /* J_U >= lower; -infinity: nothing proven */
    nadir_proof proof; /* rigorous, or numerical where kappa is an estimate by Lanczos */
    const char *bound; /* "second-order", "lagrangian" or "none" */
    double kappa;      /* at most 1/2 proves that P* is the worst; NaN: not computed */
    double tau;        /* of the Lagrangian bound */
    bool hopeless;     /* norms show kappa to be far above 1/2 */
    double *d_bar;     /* [states] owned: d_P <= d_bar for every kernel P of the set */
    double *v_tau;     /* [states] owned: v of the Lagrangian bound; NULL: none */
    double *steps;     /* [steps_count] owned: the derivation (derivation_record.h); NULL: none */
    int64_t steps_count;
    size_t steps_capacity;
} nadir_certificate;

/* Nothing proven; d_bar is allocated and not set. */
nadir_status nadir_certificate_make(nadir_context *context, int64_t states, nadir_certificate *certificate);
void nadir_certificate_clear(nadir_context *context, nadir_certificate *certificate);

/* Takes a proven lower bound if it is better than the one at hand. */
void nadir_certificate_offer(nadir_certificate *certificate, double lower, nadir_proof how,
                             const char *bound);

#endif
