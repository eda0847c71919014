(* A batch is a uniform subset of size m of n records, drawn without replacement. Drawing m - 1 records other than s,
   one further record j, and then with probability m/n the record s in place of j, is the same law. *)

From Coq Require Import Reals Lra List Lia Permutation.
From DPADMM Require Import Integral.
Import ListNotations.
Open Scope R_scope.

(* All sublists of length m, each with what it leaves out. *)
Fixpoint splits {A} (m : nat) (l : list A) : list (list A * list A) :=
  match m, l with
  | O, _ => [([], l)]
  | S _, [] => []
  | S m', a :: l' =>
      map (fun s => (a :: fst s, snd s)) (splits m' l') ++ map (fun s => (fst s, a :: snd s)) (splits m l')
  end.

Lemma splits_0 {A} (l : list A) : splits 0 l = [([], l)].
Proof. now destruct l. Qed.

(* The number of batches. *)
Definition count {A} (m : nat) (l : list A) : R := INR (length (splits m l)).

(* The mean of f over a uniform batch of size m. *)
Definition batch_mean {A} (m : nat) (l : list A) (f : list A -> R) : R :=
  / count m l * lsum (fun s => f (fst s)) (splits m l).

Lemma splits_length {A} m (l : list A) s : In s (splits m l) -> length (fst s) = m /\
  (length (snd s) + m = length l)%nat.
Proof.
  revert m s; induction l as [ | a l IH ]; intros [ | m ] s H; simpl in H.
  - destruct H as [ <- | [] ]; simpl; lia.
  - easy.
  - destruct H as [ <- | [] ]; simpl; lia.
  - apply in_app_or in H as [ H | H ]; apply in_map_iff in H as (t & <- & Ht); apply IH in Ht; simpl; lia.
Qed.

Lemma splits_permutation {A} m (l : list A) s : In s (splits m l) -> Permutation (fst s ++ snd s) l.
Proof.
  revert m s; induction l as [ | a l IH ]; intros [ | m ] s H; simpl in H.
  - destruct H as [ <- | [] ]; simpl; auto.
  - easy.
  - destruct H as [ <- | [] ]; simpl; auto.
  - apply in_app_or in H as [ H | H ]; apply in_map_iff in H as (t & <- & Ht); apply IH in Ht; simpl.
    + now constructor.
    + symmetry; apply Permutation_cons_app; now symmetry.
Qed.

(* With the record s in front, a batch either contains it or does not. *)
Lemma lsum_splits_cons {A} m a (l : list A) f :
  lsum (fun s => f (fst s)) (splits (S m) (a :: l))
  = lsum (fun s => f (a :: fst s)) (splits m l) + lsum (fun s => f (fst s)) (splits (S m) l).
Proof. simpl splits. rewrite lsum_app, !lsum_map. reflexivity. Qed.

(* Every batch of size m + 1 arises m + 1 times by adding one record to a batch of size m. *)
Lemma lsum_exchange {A} (f : list A -> R) m l :
  (forall s t, Permutation s t -> f s = f t) ->
  lsum (fun s => lsum (fun j => f (j :: fst s)) (snd s)) (splits m l)
  = INR (S m) * lsum (fun s => f (fst s)) (splits (S m) l).
Proof.
  revert f m; induction l as [ | a l IH ]; intros f m Hf.
  - destruct m; cbn [splits lsum fst snd]; ring.
  - rewrite lsum_splits_cons. destruct m as [ | m ].
    + specialize (IH f 0%nat Hf). rewrite !splits_0 in *. cbn [lsum fst snd] in *. change (INR 1) with 1 in *. lra.
    + cbn [splits]. rewrite lsum_app, !lsum_map. cbn [fst snd lsum]. rewrite lsum_plus, (IH f (S m) Hf).
      rewrite (lsum_ext _ (fun s => lsum (fun j => f (a :: j :: fst s)) (snd s)))
        by (intros; apply lsum_ext; intros; apply Hf, perm_swap).
      rewrite (IH (fun t => f (a :: t)) m) by (intros; apply Hf; now constructor).
      rewrite (S_INR (S m)). ring.
Qed.

Lemma count_pos {A} m (l : list A) : (m <= length l)%nat -> 0 < count m l.
Proof.
  intro H. unfold count. apply lt_0_INR. revert m H; induction l as [ | a l IH ]; intros [ | m ] H; simpl in *; try lia.
  rewrite app_length, !map_length. pose proof (IH m). lia.
Qed.

Lemma count_cons {A} m a (l : list A) : count (S m) (a :: l) = count m l + count (S m) l.
Proof. unfold count; simpl. now rewrite app_length, !map_length, plus_INR. Qed.

Lemma count_exchange {A} m (l : list A) : (m <= length l)%nat ->
  (INR (length l) - INR m) * count m l = INR (S m) * count (S m) l.
Proof.
  intro Hm. pose proof (lsum_exchange (fun _ : list A => 1) m l (fun _ _ _ => eq_refl)) as E.
  cbv beta in E. rewrite (lsum_const 1), (lsum_ext _ (fun _ => INR (length l) - INR m)) in E.
  - rewrite lsum_const in E. unfold count. lra.
  - intros s Hs%splits_length. rewrite lsum_const, Rmult_1_r. replace (length l) with (length (snd s) + m)%nat by lia.
    rewrite plus_INR; ring.
Qed.

(** Settles: SUBSAMPLING. The number of batches is the binomial coefficient. *)
Theorem batches_counted : forall {A : Type} (m : nat) (l : list A), (m <= length l)%nat -> count m l = C (length l) m.
Proof.
  intros A m l; revert m; induction l as [ | a l IH ]; intros [ | m ] H; simpl in H; try lia.
  - unfold count, C; simpl. field.
  - unfold count, C; simpl length. rewrite Nat.sub_0_r. simpl (fact 0). pose proof (INR_fact_neq_0 (S (length l))).
    simpl INR. field; auto.
  - rewrite count_cons, IH by lia. simpl length. destruct (Nat.eq_dec m (length l)) as [ -> | ].
    + assert (count (S (length l)) l = 0) as ->.
      { unfold count. destruct (splits (S (length l)) l) as [ | s r ] eqn:E; [ reflexivity | ].
        assert (Hs : In s (splits (S (length l)) l)) by (rewrite E; now left). apply splits_length in Hs; lia. }
      unfold C. rewrite !Nat.sub_diag. simpl (fact 0).
      pose proof (INR_fact_neq_0 (length l)); pose proof (INR_fact_neq_0 (S (length l))).
      simpl INR. field; auto.
    + rewrite IH by lia. apply pascal. lia.
Qed.

(** Settles: SUBSAMPLING. The record s is in a uniform batch of size m + 1 of n = length l + 1 with
    probability q = (m + 1)/n. *)
Theorem record_is_drawn :
  forall {A : Type} (m : nat) (s : A) (l : list A), (m <= length l)%nat ->
  count m l / count (S m) (s :: l) = INR (S m) / INR (S (length l)).
Proof.
  intros A m s l H. pose proof (count_exchange m l H) as E. pose proof (count_pos m l H).
  assert (0 < count (S m) (s :: l)) by (apply count_pos; simpl; lia). rewrite count_cons in *.
  assert (0 < INR (S m)) by (apply lt_0_INR; lia). assert (0 < INR (S (length l))) by (apply lt_0_INR; lia).
  rewrite !S_INR in *.
  apply (Rmult_eq_reg_r ((count m l + count (S m) l) * (INR (length l) + 1))); [ | apply Rgt_not_eq, Rmult_lt_0_compat;
    lra ].
  field_simplify; [ | lra.. ]. lra.
Qed.

(** Settles: SUBSAMPLING. The exchange coupling: the mean over a uniform batch of size m + 1 of s :: l equals the
    mean over (B', j) of (1 - q) f(B' + j) + q f(B' + s), with B' a uniform batch of size m of l and j
    uniform among the n - (m + 1) records left. *)
Theorem exchange_coupling :
  forall {A : Type} (m : nat) (s : A) (l : list A) (f : list A -> R),
  (m < length l)%nat -> (forall b b', Permutation b b' -> f b = f b') ->
  let q := INR (S m) / INR (S (length l)) in
  batch_mean (S m) (s :: l) f
  = / count m l * lsum (fun b => / INR (length (snd b))
      * lsum (fun j => (1 - q) * f (j :: fst b) + q * f (s :: fst b)) (snd b)) (splits m l).
Proof.
  intros A m s l f Hm Hf q. unfold batch_mean. rewrite lsum_splits_cons.
  pose proof (record_is_drawn m s l ltac:(lia)) as Eq. fold q in Eq.
  pose proof (count_exchange m l ltac:(lia)) as Ex. pose proof (count_pos m l ltac:(lia)) as Hc.
  assert (Ht : 0 < count (S m) (s :: l)) by (apply count_pos; simpl; lia).
  assert (HN : 0 < INR (length l) - INR m) by (apply Rlt_Rminus, lt_INR; lia).
  assert (HS : 0 < INR (S m)) by (apply lt_0_INR; lia).
  rewrite (lsum_ext (fun b => / _ * _) (fun b => (1 - q) / (INR (length l) - INR m) * lsum (fun j => f (j :: fst b))
    (snd b)
    + q * f (s :: fst b))).
  2: { intros b Hb%splits_length. rewrite lsum_plus, lsum_scal, lsum_const.
       replace (INR (length (snd b))) with (INR (length l) - INR m)
         by (rewrite <- minus_INR by lia; f_equal; lia). field; lra. }
  rewrite lsum_plus, !lsum_scal, lsum_exchange by assumption.
  set (u := lsum (fun b => f (s :: fst b)) (splits m l)). set (v := lsum (fun b => f (fst b)) (splits (S m) l)).
  rewrite <- Eq. rewrite count_cons in *.
  set (c := count m l) in *. set (c' := count (S m) l) in *.
  replace ((1 - c / (c + c')) / (INR (length l) - INR m) * (INR (S m) * v)) with (c / (c + c') * v).
  - field; lra.
  - assert (Ec : c' = (INR (length l) - INR m) * c / INR (S m)) by (rewrite Ex; field; lra).
    replace (1 - c / (c + c')) with (c' / (c + c')) by (field; lra).
    rewrite Ec at 2. field. rewrite Ec in Ht. lra.
Qed.
