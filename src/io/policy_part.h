/* policy_part.h: policies in files for models that are spread over processes: each reads its own part, of
 * .npy files here, and process 0 writes. */
#ifndef NADIR_IO_POLICY_PART_H
#define NADIR_IO_POLICY_PART_H

#include "model/policy.h"

/* path: an .npy file. */
nadir_status nadir_policy_part_read(nadir_context *context, const nadir_model *model, const char *path,
                                    nadir_policy **policy);
/* numbers: [rows] of this process. */
nadir_status nadir_policy_part_write(nadir_context *context, const nadir_model *model, const double *numbers,
                                     const char *path);

#endif
