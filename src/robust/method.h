/*
 * method.h: the methods of robust evaluation by name.
 *
 * The library's own methods are listed in method.c. Further methods come from a table that is linked beside
 * src/. The library calls them through it, and does not know what they do.
 */
#ifndef NADIR_ROBUST_METHOD_H
#define NADIR_ROBUST_METHOD_H

#include "robust/evaluation.h"

typedef struct nadir_method {
    const char *name;
    const char *summary;       /* what it does, in half a line */
    nadir_evaluator *evaluate; /* NULL: one of the library's own, which the family of the set knows by name */
} nadir_method;

/* NULL: there is none of this name. */
const nadir_method *nadir_method_find(const char *name);

/* The further methods, in the order of nadir_method_name after the library's own; NULL ends the table. It is
 * the only symbol that src/ uses and does not define. */
extern const nadir_method *const nadir_further_methods[];

#endif
