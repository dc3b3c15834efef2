import { AppError } from '../errors.ts';
import { serve } from '../main.ts';

try {
  await serve(process.env, {});
} catch (error) {
  if (!(error instanceof AppError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
