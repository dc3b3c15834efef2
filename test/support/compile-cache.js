/** Loaded before the programs that tests start as children: without the cache, each would spend most of its start on removing types. */
import module from 'node:module';

module.enableCompileCache?.();
