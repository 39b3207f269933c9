/* bloomery/leveldb/c.h: the policy of policy.hpp for programs that use LevelDB's C API.
 *
 *     leveldb_filterpolicy_t* policy = bloomery_leveldb_filterpolicy_create(10);
 *     leveldb_options_set_filter_policy(options, policy);
 *     ...
 *     leveldb_filterpolicy_destroy(policy);      after the database was closed
 */
#pragma once

#include <leveldb/c.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NULL when memory is refused. */
__attribute__((visibility("default"))) leveldb_filterpolicy_t* bloomery_leveldb_filterpolicy_create(int bits_per_key);

#ifdef __cplusplus
}
#endif
