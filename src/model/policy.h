/* policy.h: the inside of a policy: one probability for each row of its model. */
#ifndef NADIR_MODEL_POLICY_H
#define NADIR_MODEL_POLICY_H

#include "model/model.h"

/* As it is from when it is made on, so that it can be shared. */
struct nadir_policy {
    nadir_memory *memory;
    atomic_size_t references;
    int64_t states, rows;
    double *probabilities; /* [rows] */
};

/* One more who must free it. */
nadir_policy *nadir_policy_retain(nadir_policy *policy);
/* The same policy where it is one of the model as it is, made with this memory; a copy otherwise, made as by
 * nadir_policy_create. */
nadir_status nadir_policy_share(nadir_context *context, const nadir_model *model, const nadir_policy *policy,
                                nadir_policy **shared);
/* Checks probabilities, [rows], and normalises them as nadir_policy_create does. name: of the policy in
 * errors. */
nadir_status nadir_policy_settle(nadir_context *context, const nadir_model *model, const char *name,
                                 double *probabilities, nadir_sum_report *report);
/* Zeros, for who fills in distributions before anybody else sees it. */
nadir_status nadir_policy_create_blank(nadir_context *context, const nadir_model *model,
                                       nadir_policy **policy);

#endif
