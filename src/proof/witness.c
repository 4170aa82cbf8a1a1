/* witness.c: the numbers that prove the bounds of an evaluation; see witness.h. */
#include "proof/certificate.h"

#include <math.h>

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
