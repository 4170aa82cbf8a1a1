/* certificate.c: candidates, certificates and witnesses; see certificate.h. */
#include "proof/certificate.h"

#include <math.h>
#include <string.h>

static const char *const bound_names[] = {
    [NADIR_BOUND_NONE] = "none",
    [NADIR_BOUND_NOMINAL] = "nominal",
    [NADIR_BOUND_REWARDS] = "rewards",
    [NADIR_BOUND_SPECTRAL] = "spectral",
    [NADIR_BOUND_ENUMERATION] = "enumeration",
    [NADIR_BOUND_ENCLOSING_BALL] = "enclosing-ball",
    [NADIR_BOUND_FREE_DOMAIN] = "free-domain",
    [NADIR_BOUND_BELLMAN] = "bellman",
    [NADIR_BOUND_CONTRACTION] = "contraction",
    [NADIR_BOUND_LAGRANGIAN] = "lagrangian",
    [NADIR_BOUND_SECOND_ORDER] = "second-order",
};

const char *nadir_bound_name(nadir_bound bound)
{
    return bound_names[bound];
}

nadir_bound nadir_bound_find(const char *name)
{
    int bound = NADIR_BOUND_SECOND_ORDER;
    while (bound > NADIR_BOUND_NONE && (name == NULL || strcmp(name, bound_names[bound]) != 0)) {
        bound--;
    }
    return (nadir_bound)bound;
}

void nadir_candidate_clear(nadir_context *context, nadir_candidate *candidate)
{
    nadir_kernel_free(candidate->kernel);
    nadir_release(context, candidate->c);
    nadir_release(context, candidate->k);
    nadir_release(context, candidate->g);
    nadir_release(context, candidate->v);
    nadir_release(context, candidate->d);
    *candidate = (nadir_candidate){0};
}

nadir_status nadir_certificate_make(nadir_context *context, int64_t states, nadir_certificate *certificate)
{
    nadir_status status = NADIR_OK;
    *certificate = (nadir_certificate){.lower = -INFINITY, .kappa = NAN};
    NADIR_NEW(context, certificate->d_bar, states);
cleanup:
    return status;
}

void nadir_certificate_clear(nadir_context *context, nadir_certificate *certificate)
{
    nadir_release(context, certificate->d_bar);
    nadir_release(context, certificate->v_tau);
    nadir_release(context, certificate->steps);
    *certificate = (nadir_certificate){0};
}

void nadir_certificate_offer(nadir_certificate *certificate, double lower, nadir_proof how, nadir_bound bound)
{
    if (lower > certificate->lower) {
        certificate->lower = lower;
        certificate->proof = how;
        certificate->bound = bound;
    }
}

void nadir_witness_default(nadir_witness *witness)
{
    *witness = (nadir_witness){
        .norm = NAN,
        .nominal_return = NAN,
        .robust_return = NAN,
        .lower_bound = NAN,
        .upper_bound = NAN,
        .lambda = NAN,
        .breakdown_low = NAN,
        .kappa = NAN,
        .tau = NAN,
    };
}

void nadir_witness_clear(nadir_context *context, nadir_witness *witness)
{
    nadir_release(context, witness->owned);
    nadir_release(context, witness->owned_names);
    nadir_witness_default(witness);
}

void nadir_kernel_parameters_clear(nadir_context *context, nadir_kernel_parameters *parameters)
{
    nadir_release(context, parameters->owned);
    *parameters = (nadir_kernel_parameters){.norm = NAN, .gamma = NAN};
}
