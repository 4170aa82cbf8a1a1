/* policy.h: the inside of a policy: one probability for each row of its model. */
#ifndef NADIR_MODEL_POLICY_H
#define NADIR_MODEL_POLICY_H

#include "model/model.h"

struct nadir_policy {
    nadir_memory *memory;
    int64_t states, rows;
    double *probabilities; /* [rows] */
};

#endif
