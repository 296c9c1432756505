-- A discount that is ended stays with the months before: it is known from which month on it takes nothing off. Those that were ended before took nothing off any open month.
alter table discounts add column ended_month date check (extract(day from ended_month) = 1);
update discounts set ended_month = start_month where is_ended;
alter table discounts drop column is_ended;
