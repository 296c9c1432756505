/** Plain copies, where nothing better works: slow and large, but the same in every other way. */
import { copiedFolders } from '../copied-folders.ts';
import { openVolumeFolders } from '../volume-folders.ts';

export const openCopyVolumes = (root: string) => openVolumeFolders(root, copiedFolders(root, 'copy'));
