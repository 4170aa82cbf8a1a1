/* certificate.c: candidates, certificates and witnesses; see certificate.h. */
#include "proof/certificate.h"

#include <math.h>

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
    *certificate = (nadir_certificate){.lower = -INFINITY, .bound = "none", .kappa = NAN};
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

void nadir_certificate_offer(nadir_certificate *certificate, double lower, nadir_proof how, const char *bound)
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
