-- The items that a revision of a link, a label on an item, a comment or a set-aside hint is about, so that the
-- history of an item can list them. Revisions of items themselves leave both empty.
ALTER TABLE revisions ADD COLUMN item_id text;
ALTER TABLE revisions ADD COLUMN other_item_id text; -- the other end of a link

UPDATE revisions SET
    item_id = json_extract(COALESCE(after, before), '$.source_id'),
    other_item_id = json_extract(COALESCE(after, before), '$.target_id')
WHERE kind = 'relationship' AND action <> 'updated';
UPDATE revisions SET item_id = json_extract(COALESCE(after, before), '$.target_id')
WHERE kind = 'comment' AND action <> 'updated';
UPDATE revisions SET item_id = substr(entity_id, 1, instr(entity_id, ':') - 1)
WHERE kind IN ('item_label', 'lint_suppression', 'steering_link');
UPDATE revisions SET other_item_id = substr(entity_id, instr(entity_id, ':') + 1)
WHERE kind = 'steering_link';
-- An update holds only what differs: the ends are those of when it was created.
UPDATE revisions SET
    item_id = (SELECT made.item_id FROM revisions made
        WHERE made.entity_id = revisions.entity_id AND made.action <> 'updated' LIMIT 1),
    other_item_id = (SELECT made.other_item_id FROM revisions made
        WHERE made.entity_id = revisions.entity_id AND made.action <> 'updated' LIMIT 1)
WHERE kind IN ('relationship', 'comment') AND action = 'updated';

CREATE INDEX revisions_about ON revisions (item_id) WHERE item_id IS NOT NULL;
CREATE INDEX revisions_about_other ON revisions (other_item_id) WHERE other_item_id IS NOT NULL;
