/* petsc_part.h: the part of a model that a process owns, from PETSc binary files. */
#ifndef NADIR_IO_PETSC_PETSC_PART_H
#define NADIR_IO_PETSC_PETSC_PART_H

#include "io/format.h"

nadir_status nadir_petsc_read_part(nadir_context *context, const char *path,
                                   const nadir_read_settings *settings, nadir_model **model);

#endif
