/* proof.c: the Lagrangian bound with no better bound on occupancies than 1/(1 - gamma); see proof.h. */
#include "adversary/valid/proof.h"
#include "adversary/valid/lagrangian.h"
#include <math.h>
void nadir_valid_proof_clear(nadir_context *context, nadir_valid_proof *proof)
{
    nadir_release(context, proof->d_bar);
    nadir_release(context, proof->v_tau);
    *proof = (nadir_valid_proof){0};
}
nadir_status nadir_valid_prove(nadir_context *context, const nadir_problem *problem, double beta,
                               const nadir_attack *attack, nadir_certify effort, double wanted,
                               nadir_valid_proof *proof)
{
    nadir_status status = NADIR_OK;
    nadir_lagrangian l = {0};
    (void)effort;
    (void)wanted;
    proof->lower = -INFINITY;
    proof->kappa = NAN;
    proof->bound = "none";
    NADIR_NEW(context, proof->d_bar, problem->states);
    for (int64_t s = 0; s < problem->states; s++)
        proof->d_bar[s] = 1 / (1 - problem->gamma) * (1 + 1e-12);
    if (!(pow(beta, problem->uncertainty->p) > 0) || !isfinite(attack->tau)) {
        goto cleanup; /* beyond the range of numbers */
    }
    NADIR_CHECK(nadir_lagrangian_maximise(context, problem, beta, proof->d_bar, attack->tau, 20, &l));
    NADIR_CHECK(nadir_lagrangian_check(context, problem, beta, proof->d_bar, l.tau, l.v, &proof->lower));
    proof->proof = NADIR_PROOF_RIGOROUS;
    proof->bound = "lagrangian";
    proof->tau = l.tau;
    proof->v_tau = l.v;
    l.v = NULL;
cleanup:
    nadir_lagrangian_clear(context, &l);
    return status;
}
