/* method.c: the methods of robust evaluation by name; see method.h. */
#include "robust/robust.h"

#include <string.h>

static const nadir_method own[] = {
    {"auto", "the default: exact where that is known to be possible", NULL},
    {"newton", "the root of F(lambda) = lambda by Newton steps on a growing subspace", NULL},
    {"bisect", "bisection on F(lambda), which is computed exactly", NULL},
    {"best-response", "b and k in turn, each the best answer to the other", NULL},
};

enum { OWN = sizeof own / sizeof *own };

/* NULL: past the last. */
static const nadir_method *method_at(int64_t index)
{
    if (index < OWN) {
        return index >= 0 ? &own[index] : NULL;
    }
    int64_t count = OWN;
    while (count < index && nadir_further_methods[count - OWN] != NULL) {
        count++;
    }
    return nadir_further_methods[count - OWN];
}

const nadir_method *nadir_method_find(const char *name)
{
    const nadir_method *method;
    for (int64_t i = 0; (method = method_at(i)) != NULL; i++) {
        if (strcmp(method->name, name) == 0) {
            return method;
        }
    }
    return NULL;
}

const char *nadir_method_name(int64_t index)
{
    const nadir_method *method = method_at(index);
    return method != NULL ? method->name : NULL;
}

const char *nadir_method_summary(int64_t index)
{
    const nadir_method *method = method_at(index);
    return method != NULL ? method->summary : NULL;
}
