/* candidate.c: what a search hands over. */
#include "proof/certificate.h"

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
