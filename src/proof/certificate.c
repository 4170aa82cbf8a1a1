/* certificate.c: what the proofs of one kernel have shown; see certificate.h. */
#include "proof/certificate.h"

#include <math.h>

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
