/* worst.h: the worst kernel as the user holds it: the kernel, and the witness of its bounds. */
#ifndef NADIR_ROBUST_WORST_H
#define NADIR_ROBUST_WORST_H

#include "proof/certificate.h"
#include "robust/evaluation.h"

struct nadir_worst {
    nadir_memory *memory;
    nadir_model *model;
    nadir_policy *policy;
    nadir_evaluation evaluation; /* kernel and vectors */
    nadir_uncertainty uncertainty;
    double *d;           /* [states] occupancy under the nominal kernel */
    nadir_robust result; /* size 0: there is none */
    bool optimistic;
    char model_file_sha256[65]; /* "": unsaid */
    char policy_file_sha256[65];
    char kernel_sha256[65]; /* of the kernel file */
};

/* Takes the kernel and the vectors out of the verdict. result: what was reported; NULL: the kernel is that of
 * a difference, which has no witness. */
nadir_status nadir_worst_make(nadir_context *context, const nadir_problem *problem,
                              const nadir_robust *result, nadir_evaluation *evaluation, nadir_worst **worst);

/* What is to be said of the kernel, and what proves its bounds; both point into `worst`. A kernel of a
 * difference has no witness: NADIR_ERROR_UNSUPPORTED. */
nadir_status nadir_worst_parameters(nadir_context *context, const nadir_worst *worst,
                                    nadir_kernel_parameters *parameters);
nadir_status nadir_worst_witness(nadir_context *context, const nadir_worst *worst, nadir_witness *witness);

/* As long as it lives. */
const nadir_kernel *nadir_worst_kernel(const nadir_worst *worst);

#endif
